package metrics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/metrics"
)

func TestParseAddress(t *testing.T) {
	t.Setenv("SLURM_JOB_ID", "")
	t.Setenv("TORCHELASTIC_RUN_ID", "none")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example/in/")
	for text, want := range map[string]metrics.Address{
		"prometheus://127.0.0.1:9464":                     {Listen: "127.0.0.1:9464"},
		"prometheus://[::1]:9464/":                        {Listen: "[::1]:9464"},
		"prometheus://localhost:1?loader=train&job=a%20b": {Listen: "localhost:1", Labels: metrics.Labels{Loader: "train", Job: "a b"}},
		"otlp://127.0.0.1:4318":                           {Send: "http://127.0.0.1:4318"},
		"otlps://h:1/a%20b/?traces=6&loader=x":            {Send: "https://h:1/a%20b", Traces: 6, Labels: metrics.Labels{Loader: "x"}},
		"otlp://":                                         {Send: "https://collector.example/in"},
		"otlp://?loader=x":                                {Send: "https://collector.example/in", Labels: metrics.Labels{Loader: "x"}},
	} {
		if got, err := metrics.ParseAddress(text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	t.Setenv("SLURM_JOB_ID", "17")
	if a, _ := metrics.ParseAddress("prometheus://127.0.0.1:9464"); a.Labels.Job != "17" {
		t.Error(a)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:9464":                                              "must be like prometheus://127.0.0.1:9464",
		"http://127.0.0.1:9464":                                       "its scheme is not prometheus, otlp or otlps",
		"prometheus://:9464":                                          "has no host",
		"prometheus://127.0.0.1":                                      "has no port",
		"prometheus://127.0.0.1:0":                                    "has no port",
		"prometheus://127.0.0.1:99999":                                "has no port",
		"prometheus://127.0.0.1:9464/metrics":                         "has more than",
		"prometheus://me@127.0.0.1:9464":                              "has more than",
		"prometheus://127.0.0.1:9464?rank=3":                          "has rank=",
		"prometheus://127.0.0.1:9464?a=%zz":                           "cannot be read",
		"prometheus://127.0.0.1:9464?job=" + strings.Repeat("x", 101): "job= is longer",
		"prometheus://127.0.0.1:9464?loader=a%0Ab":                    "of several lines",
		"prometheus://127.0.0.1:9464?traces=6":                        "which Prometheus does not read",
		"otlp://collector":                                            "has no port",
		"otlp:///v1":                                                  "has a path and no host",
		"otlp://me:secret@collector:4318":                             "headers are in OTEL_EXPORTER_OTLP_HEADERS",
		"otlp://collector:4318?traces=0.1":                            "traces= must be samples a minute, 0 to 60",
		"otlp://collector:4318?traces=61":                             "traces= must be samples a minute, 0 to 60",
	} {
		if _, err := metrics.ParseAddress(text); !errors.Is(err, metrics.ErrAddress) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestVariablesThatAreWrong: an address is refused with the variable that is at fault.
// Its value may be a password, and is not shown.
func TestVariablesThatAreWrong(t *testing.T) {
	for variable, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318",
		"OTEL_EXPORTER_OTLP_HEADERS":  "Bearer secret",
		"OTEL_RESOURCE_ATTRIBUTES":    "=secret",
		"OTEL_METRIC_EXPORT_INTERVAL": "10s",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, value)
			_, err := metrics.ParseAddress("otlp://")
			if !errors.Is(err, metrics.ErrAddress) || !strings.Contains(err.Error(), variable) || strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
}
