package metrics_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/metrics"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// TestProbes: loaders of all processes are asked, and each that is not well has a line.
func TestProbes(t *testing.T) {
	meet(t)
	listen := freePort(t)
	var now atomic.Pointer[stats.Snapshot]
	now.Store(&stats.Snapshot{})
	publish(t, listen, "val")
	l := metrics.Labels{Loader: "train", Rank: "3", Job: "night"}
	c := metrics.New(func() stats.Snapshot { return *now.Load() }, l)
	defer metrics.Publish(metrics.Address{Listen: listen}, c, func(m string) { t.Error(m) })()
	ask(t, listen, batchesOf("val"))

	made := stats.Snapshot{Stats: pipe.Stats{Stages: []pipe.StageStats{{Name: "batch", Out: 1}}}}
	stands := made
	stands.Stalled = &stats.Stalled{For: 75 * time.Second}
	for name, c := range map[string]struct {
		of              stats.Snapshot
		healthz, readyz string
	}{
		"begins": {stats.Snapshot{}, "ok\n", "loader train, rank 3, job night: no batch is made yet\n"},
		"runs":   {made, "ok\n", "ok\n"},
		"stands": {
			stands, "loader train, rank 3, job night: nothing has moved for 75 s\n", "loader train, rank 3, job night: nothing has moved for 75 s\n",
		},
	} {
		now.Store(&c.of)
		time.Sleep(300 * time.Millisecond) // statistics are a quarter of a second old at most
		for path, want := range map[string]string{"healthz": c.healthz, "readyz": c.readyz} {
			status := http.StatusServiceUnavailable
			if want == "ok\n" {
				status = http.StatusOK
			}
			if got, body := answerOf(t, "http://"+listen+"/"+path); got != status || body != want {
				t.Errorf("%s, %s: %d, %q, want %q", name, path, got, body, want)
			}
		}
	}
}

func answerOf(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
