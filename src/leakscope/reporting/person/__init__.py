"""What a run says of one person: rows, figures, sentences, and a table for spreadsheets."""
