"""The header of X-Ray in a request to AWS. Plain Python; compiled as `aws_headers_c`.

Stock writes it to the request that botocore prepares, where botocore reads and writes each header several times. Here,
it is written to what botocore has prepared, which is what is sent.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

from botocore import endpoint as _endpoint
from botocore.awsrequest import AWSPreparedRequest, AWSRequest, HeadersDict
from botocore.compat import HTTPHeaders
from opentelemetry.propagators.aws.aws_xray_propagator import TRACE_HEADER_KEY, AwsXRayPropagator

from otel_fastpath.cloud.botocore.stock_botocore import HEADERS
from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN, as_defined

_PLACE = "the header of a call of AWS"
# What wrapt gives a wrapper.
_GIVEN = 5
_LOWER = TRACE_HEADER_KEY.lower()
_LENGTH = len(_LOWER)
_facts = Facts(UNKNOWN)
_prepare = as_defined(_endpoint.Endpoint, "prepare_request")


def header_of(given: tuple[Any, ...], named: dict[str, Any]) -> bytes | None:
    """The header for the request that is among what wrapt gives stock's hook; None if stock must write it."""
    try:
        if named or len(given) != _GIVEN or len(given[3]) != 1 or given[4]:
            return None
        if not (_facts.hold() or HEADERS.holds_again(_facts)):
            return None
        propagator, wrapped, request = given[0].propagator, given[1], given[3][0]
        if type(propagator) is not AwsXRayPropagator or type(wrapped) is not MethodType:
            return None
        if wrapped.__func__ is not _prepare or type(request) is not AWSRequest:
            return None
        headers = request.headers
        if type(headers) is not HTTPHeaders:
            return None
        # As stock's `in` finds it, which makes each name lower.
        for entry in headers._headers:
            name = entry[0]
            if len(name) == _LENGTH and name.lower() == _LOWER:
                return b""
        carrier: dict[str, str] = {}
        propagator.inject(carrier)
        header = carrier.get(TRACE_HEADER_KEY)
        return b"" if header is None else header.encode("utf-8")
    except Exception as error:
        faults.absorb(_PLACE, error)
        return None


def put_header(prepared: Any, header: bytes) -> None:
    """Write the header to what is sent."""
    try:
        if type(prepared) is AWSPreparedRequest and type(prepared.headers) is HeadersDict:
            prepared.headers[TRACE_HEADER_KEY] = header
    except Exception as error:
        faults.absorb(_PLACE, error)
