"""What servers in Java need that tests start: their libraries, which Maven brings once for all clones."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

CACHE = Path.home() / ".cache" / "otel-fastpath"
PROJECT = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>otel-fastpath</groupId><artifactId>{name}</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>
  </dependencies>
</project>
"""


class MissingError(Exception):
    """There is no server; the message says why."""


def libraries(name, group, artifact, version, seconds):
    """The folder with the jars of an artifact and of all that it needs, which Maven fills if it is not there yet.

    Args:
        name: The server's name, in lower case.
        group: The artifact's group.
        artifact: Its name.
        version: Its version.
        seconds: How long Maven may take.

    Raises:
        MissingError: There is no Java or no Maven, or Maven cannot bring them.
    """
    if shutil.which("java") is None:
        raise MissingError("no java is installed: apt-get install default-jdk-headless")
    found = CACHE / f"{name}-{version}"
    if found.exists():
        return found
    if shutil.which("mvn") is None:
        raise MissingError("no mvn is installed: apt-get install maven")
    folder = found.with_name(f"{found.name}-new-{os.getpid()}")
    folder.mkdir(parents=True)
    project = folder / "pom.xml"
    project.write_text(PROJECT.format(name=name, group=group, artifact=artifact, version=version), encoding="utf-8")
    command = ["mvn", "-q", "-B", "-f", project, "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    try:
        subprocess.run([*command, "-DincludeScope=runtime"], check=True, capture_output=True, timeout=seconds)
        # Another process may have been faster.
        if not found.exists():
            folder.rename(found)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingError(f"Maven does not bring {name}: {getattr(error, 'stdout', '') or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found
