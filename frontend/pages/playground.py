"""GET /playground: the four operations, tried in a browser with an API key."""

from frontend.pages.static_files import STATIC, page_routes, parts_of, policy

_FOLDER = STATIC / "playground"
# It plays what it was given and what was answered, and records where its visitor says so.
_HEADERS = policy(media="blob:", microphone="self")

ROUTES = page_routes("/playground", _FOLDER / "index.html", parts_of(_FOLDER), _HEADERS)
