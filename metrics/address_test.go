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
	for text, want := range map[string]metrics.Address{
		"prometheus://127.0.0.1:9464":                     {Listen: "127.0.0.1:9464"},
		"prometheus://[::1]:9464/":                        {Listen: "[::1]:9464"},
		"prometheus://localhost:1?loader=train&job=a%20b": {Listen: "localhost:1", Labels: metrics.Labels{Loader: "train", Job: "a b"}},
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
		"http://127.0.0.1:9464":                                       "its scheme is not prometheus",
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
	} {
		if _, err := metrics.ParseAddress(text); !errors.Is(err, metrics.ErrAddress) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
