import sys
from bench_genai import nothing, stock, pure, compiled
import bench_genai as b
from opentelemetry import context as ca
from opentelemetry.util.genai import _invocation as base, _inference_invocation as inf
from opentelemetry.trace import SpanKind

A = {"a": "b", "c": "d", "e": "f", "g": "h", "i": 1}
B = {
    "gen_ai.request.temperature": 0.5,
    "gen_ai.request.max_tokens": 200,
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.usage.input_tokens": 64,
    "gen_ai.usage.output_tokens": 60,
}


def start_end(g):
    i = b._start(g.off)
    i.suspend()
    i.span.end()


def span(g):
    g.off._tracer.start_span(name="chat x", kind=SpanKind.CLIENT, attributes=A, context=None).end()


def span2(g):
    s = g.off._tracer.start_span(name="chat x", kind=SpanKind.CLIENT, attributes=A, context=None)
    s.set_attributes(B)
    s.end()


def record(g):
    g.off._instruments.operation_duration.record(0.1, attributes=dict(A), context=ca.get_current())


def record0(g):
    ca.get_current()
    dict(A)


def answer(g):
    b._answer(g.inv)


def emits(g):
    inf._should_emit_event(g.off._content_capturing_mode)


def contexts(g):
    c = base.set_span_in_context(INV, None)
    c = base.set_value("x", 1, context=c)
    t = base.attach(c)
    base.detach(t)
    base.set_value("x", None, context=c)


from opentelemetry.trace import INVALID_SPAN as INV


def newdata(g):
    d = inf.InferenceData(provider_name="openai", request_model="x")
    d = inf.InferenceData()


ROWS = {
    k: (nothing, globals()[k])
    for k in ("start_end", "span", "span2", "record", "record0", "emits", "contexts", "newdata")
}
if __name__ == "__main__":
    from table import main

    sys.exit(main("parts", "zz_parts", ROWS, ("stock", "pure", "compiled")))
