"""The project's address, from one setting: in the metadata of a package, and in the site.

`repository` in pyproject.toml, in the table [tool.hatch.metadata.hooks.custom], is the address of the repository on
GitHub; it is empty while there is none. Hatchling calls this hook when it builds a package. The README has relative
links, which lead somewhere in the repository only: in a package, they are absolute, or text while there is no address.

hatch-fancy-pypi-readme does a part of this, but each of its substitutions has its own copy of the address, and those in
`[project.urls]` stay.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # the site is built without hatchling
    MetadataHookInterface = object

# A link, which may have an image as its text, and an image; in a block of code there is neither.
_LINK = re.compile(r"(!?)\[((?:!\[[^\]]*\]\([^)\s]*\)|[^\]])*)\]\(([^)\s]+)\)")
_SOURCE = re.compile(r'\b(src|srcset|href)="([^"]+)"')
_ELSEWHERE = ("https:", "http:", "mailto:", "#")


class CustomMetadataHook(MetadataHookInterface):  # type: ignore[misc, valid-type]
    """Sets the README and the addresses of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set them: pyproject.toml names them as dynamic."""
        repository = self.config.get("repository", "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, repository)}
        metadata["urls"] = urls(repository)


def urls(repository: str) -> dict[str, str]:
    """The project's addresses; none while there is no repository."""
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Documentation": file_address("docs/index.md", repository),
        "Changelog": file_address("CHANGELOG.md", repository),
        "Issues": f"{repository}/issues",
    }


def file_address(path: str, repository: str) -> str:
    """The address of a file or folder of the repository."""
    return f"{repository}/blob/main/{path}"


def absolute(text: str, repository: str) -> str:
    """A page of the repository's root with absolute links: without an address, a link is its text, an image is gone."""

    def link(found: re.Match[str]) -> str:
        is_image, shown, target = found[1], absolute(found[2], repository), found[3]
        if target.startswith(_ELSEWHERE):
            return f"{is_image}[{shown}]({target})"
        if not repository:
            return "" if is_image else shown
        place = _raw(target, repository) if is_image else file_address(target, repository)
        return f"{is_image}[{shown}]({place})"

    def source(found: re.Match[str]) -> str:
        if found[2].startswith(_ELSEWHERE):
            return found[0]
        return f'{found[1]}="{_raw(found[2], repository)}"' if repository else ""

    return _SOURCE.sub(source, _LINK.sub(link, text))


def _raw(path: str, repository: str) -> str:
    return f"{repository}/raw/main/{path}"
