"""What a picture of iteration domains shows, and how it is drawn."""
