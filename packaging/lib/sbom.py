#!/usr/bin/env python3
"""Writes what an artefact carries as SPDX 2.3 JSON: Rubberband, Apache ECharts, which goes into its programs, and the Debian packages of
the files that the manifest names. Copies their licence texts. A package without a licence in licences.csv is an error.

--name NAME --manifest FILE (lines "path in the artefact, path on this machine") --with FILE (of a part) --licences FOLDER --out FILE"""
import argparse
import csv
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


def said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def packages_of(paths):
    """The Debian packages that these files of this machine are from. /lib is /usr/lib, and packages name either."""
    variants = {path: {v for name in (path, os.path.realpath(path)) for v in (name, name.removeprefix("/usr"), "/usr" + name)}
                for path in paths}
    found = subprocess.run(["dpkg-query", "-S", *sorted(set().union(*variants.values()))], capture_output=True, text=True, check=False).stdout
    owner = {file: packages.split(",")[0] for packages, file in (line.split(": ", 1) for line in found.splitlines() if ": " in line)}
    for path in paths:
        if not owner.keys() & variants[path]:
            sys.exit("sbom: %s is of no Debian package, so its version and licence are unknown" % path)
    return sorted({owner[file] for path in paths for file in variants[path] if file in owner})


def debian(line, licences):
    name, version, source, source_version, arch = line.split("\t")
    if source not in licences:
        sys.exit("sbom: packaging/lib/licences.csv has no licence of %s: add it, from /usr/share/doc/%s/copyright" % (source, name))
    return {
        "name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "versionInfo": version,
        "supplier": "Organization: Debian", "downloadLocation": "https://sources.debian.org/src/%s/%s/" % (source, source_version),
        "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licences[source], "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": "pkg:deb/debian/%s@%s?arch=%s" % (name, version.replace("+", "%2B"), arch)}]}


def carried(manifest, licences):
    """The packages of the files that a manifest names."""
    paths = [line.split()[1] for line in manifest.splitlines()]
    if not paths:
        return []
    fields = "${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\n"
    return [debian(line, licences) for line in sorted(said("dpkg-query", "-W", "-f", fields, *packages_of(paths)).splitlines())]


def ours(version):
    echarts = re.match(r"# Apache ECharts (\S+)", (SOURCE / "third_party" / "echarts" / "README.md").read_text(encoding="utf-8"))[1]
    notice = (SOURCE / "NOTICE").read_text(encoding="utf-8")
    common = {"downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION"}
    return [
        {"name": "rubberband", "SPDXID": "SPDXRef-rubberband", "versionInfo": version, **common, "licenseDeclared": "Apache-2.0",
         "copyrightText": "2026 the authors of Rubberband", "attributionTexts": [notice]},
        {"name": "echarts", "SPDXID": "SPDXRef-echarts", "versionInfo": echarts, **common,
         "licenseDeclared": "Apache-2.0 AND BSD-3-Clause", "copyrightText": "2017-2026 The Apache Software Foundation; 2010-2016 Mike Bostock",
         "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                           "referenceLocator": "pkg:npm/echarts@" + echarts}]}]


def document(name, packages, epoch):
    listing = json.dumps(packages, sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": "https://spdx.org/spdxdocs/%s-%s" % (name, hashlib.sha256(listing.encode()).hexdigest()[:32]),
        "creationInfo": {"creators": ["Tool: packaging/lib/sbom.py"],
                         "created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")},
        "packages": packages,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-rubberband"}] +
        [{"spdxElementId": "SPDXRef-rubberband", "relationshipType": "CONTAINS", "relatedSpdxElement": p["SPDXID"]} for p in packages[1:]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--name", "--manifest", "--with", "--licences", "--out"):
        parser.add_argument(option, required=option in ("--name", "--out"))
    options = parser.parse_args()
    version = re.search(r"^project\(.* version: '([0-9.]+)'", (SOURCE / "meson.build").read_text(encoding="utf-8"), re.M)[1]
    with open(HERE / "licences.csv", encoding="utf-8") as table:
        licences = {row["source"]: row["licence"] for row in csv.DictReader(table)}
    manifest = pathlib.Path(options.manifest).read_text(encoding="utf-8") if options.manifest else ""
    part = json.loads(pathlib.Path(vars(options)["with"]).read_text(encoding="utf-8"))["packages"] if vars(options)["with"] else []
    here = carried(manifest, licences)
    packages = ours(version) + sorted(here + [p for p in part[2:] if p not in here], key=lambda p: p["name"])
    for package in here if options.licences else []:
        shutil.copyfile("/usr/share/doc/%s/copyright" % package["name"], os.path.join(options.licences, package["name"]))
    for name, to in (("LICENSE", "echarts"), ("LICENSE-d3", "echarts-d3"), ("NOTICE", "echarts-notice")):
        if options.licences:
            shutil.copyfile(SOURCE / "third_party" / "echarts" / name, os.path.join(options.licences, to))
    with open(options.out, "w", encoding="utf-8") as out:
        json.dump(document(options.name, packages, int(os.environ["SOURCE_DATE_EPOCH"])), out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
