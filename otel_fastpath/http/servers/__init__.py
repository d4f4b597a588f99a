"""What the HTTP servers share: the attributes of requests, their parents, metrics and statuses."""
