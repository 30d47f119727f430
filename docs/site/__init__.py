"""What the documentation site is made of, beside the pages: entries, navigation, links."""
