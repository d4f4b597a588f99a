"""Reports for people: one document, rendered for a terminal, as Markdown, as SVG or as an HTML page."""
