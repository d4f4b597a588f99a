"""Results for people: one document, written for a terminal, as Markdown, as SVG and as an HTML page."""
