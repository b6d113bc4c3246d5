package stats_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// reading returns the numbers of a loader whose reading is the bottleneck.
func reading(hosts ...stats.Host) stats.Snapshot {
	return stats.Snapshot{Hosts: hosts, Stats: pipe.Stats{
		Elapsed: 10 * time.Second, Yielded: 100,
		Stages: []pipe.StageStats{
			{Name: "read", Kind: "map", Workers: 1, In: 1000, Out: 1000, Busy: 9 * time.Second, Starved: time.Second},
			{Name: "decode_image+batch", Kind: "map", Workers: 1, In: 1000, Out: 1000, Busy: time.Second, Starved: 9 * time.Second},
		},
	}}
}

func TestTheVerdictNamesTheHost(t *testing.T) {
	other := stats.Host{Host: "hub", Requests: 3, Took: time.Second, AtOnce: 128}
	for _, c := range []struct {
		host stats.Host
		says string
	}{
		{stats.Host{Requests: 1000, Throttled: 20, Took: 9 * time.Second, AtOnce: 128},
			"The host s3 is the limit: it asked for fewer requests 20 times in 1000."},
		{stats.Host{Requests: 1000, Throttled: 9, Took: 100 * time.Second, AtOnce: 120},
			"Latency is the limit: 120 requests are sent to s3 at once, and each takes 100 ms. Larger objects would help, such as shards."},
		{stats.Host{Requests: 1000, Fetched: 10 << 20, Took: 9 * time.Second, AtOnce: 20},
			"The link or the host is the limit: 1 MiB/s come from s3, however many requests are sent."},
	} {
		c.host.Host = "s3"
		if v := stats.Verdict(reading(other, c.host)); !strings.HasSuffix(v, "busy 90 % of the time. "+c.says) {
			t.Errorf("%q lacks %q", v, c.says)
		}
		s := reading(other, c.host)
		s.Stages[0].Name = "decode_image"
		if v := stats.Verdict(s); strings.Contains(v, "s3") {
			t.Errorf("of a stage that reads nothing: %q", v)
		}
	}
}

func TestHostsAreToldInALine(t *testing.T) {
	text := strings.Join(strings.Fields(stats.Text(reading(stats.Host{Host: "s3.example.org", Requests: 50,
		Took: 5 * time.Second, AtOnce: 16, Wanted: 1 << 20, Fetched: 2 << 20, Failed: 1, Throttled: 2, Hedges: 3}))), " ")
	const want = "s3.example.org: 50 requests, 100 ms each, 16 at once at most; 2 MiB read for 1 MiB, 1 failed, " +
		"2 told to slow down, 3 sent twice"
	if !strings.Contains(text, want) {
		t.Errorf("%s\nlacks %s", text, want)
	}
}

// Hosts come and stay; each is known by its name.
func TestHostsSince(t *testing.T) {
	earlier := reading(stats.Host{Host: "b", Requests: 3})
	now := reading(stats.Host{Host: "a", Requests: 2}, stats.Host{Host: "b", Requests: 5, AtOnce: 9})
	d, err := now.Since(earlier)
	want := []stats.Host{{Host: "a", Requests: 2}, {Host: "b", Requests: 2, AtOnce: 9}}
	if err != nil || !slices.Equal(d.Hosts, want) || now.Hosts[1].Requests != 5 {
		t.Errorf("%+v, %v", d.Hosts, err)
	}
	if left := stats.HostsSince(now.Hosts, now.Hosts[1:]); len(left) != 1 || left[0].Host != "a" {
		t.Errorf("%+v: a host of which nothing was asked is left out", left)
	}
}
