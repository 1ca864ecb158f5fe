"""Plant canaries: draw them, place them among users' documents, write rows and manifest."""
