"""A receiver of OTLP over HTTP: prints its port, and then each message as a line of JSON, with OpenTelemetry's own description of it."""

import http.server
import json

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

REQUESTS = {
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request, response = (kind() for kind in REQUESTS[self.path])
        request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
        print(json.dumps(MessageToDict(request)), flush=True)
        answer = response.SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()
