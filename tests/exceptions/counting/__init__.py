"""Small programs that raise exceptions, each with how many a perfect counter counts."""
