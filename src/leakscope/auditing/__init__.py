"""What commands share: opening any model, public models, provenance, gates, callbacks."""
