package stats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/observe/counters"
	"github.com/headrace/headrace/store"
)

// Host counts the requests to a host of a store.
type Host struct {
	Host      string        `json:"host" doc:"its name"`
	Requests  int64         `json:"requests" counter:"requests" doc:"requests that have ended"`
	Failed    int64         `json:"failed" counter:"requests" doc:"those of them that broke off, stalled, or got a wrong answer"`
	Throttled int64         `json:"throttled" counter:"requests" doc:"those whose answer asked for fewer requests"`
	Retries   int64         `json:"retries" counter:"requests" doc:"requests that repeat one that failed"`
	Hedges    int64         `json:"hedges" counter:"requests" doc:"requests sent a second time, as the first was late"`
	Wanted    int64         `json:"wanted_bytes" counter:"bytes" doc:"bytes asked for"`
	Fetched   int64         `json:"fetched_bytes" counter:"bytes" doc:"bytes that came"`
	Waited    time.Duration `json:"waited_ns" counter:"ns" doc:"time that requests waited for their turn"`
	Took      time.Duration `json:"took_ns" counter:"ns" doc:"time that requests took, without that"`
	AtOnce    int           `json:"at_once" gauge:"requests" doc:"requests that may be sent at once now"`
	Silent    time.Duration `json:"silent_ns" gauge:"ns" doc:"time for which it has sent nothing, though asked; 0: all is well"`
}

// hostsSince returns the counts since those of earlier. Hosts are known by their names.
func hostsSince(now, earlier []Host) (all []Host) {
	all = slices.Clone(now)
	for i := range all {
		if k := slices.IndexFunc(earlier, func(h Host) bool { return h.Host == all[i].Host }); k >= 0 {
			counters.Add(&all[i], -1, earlier[k])
		}
	}
	return all
}

// HostsSince returns the counts since those of earlier, of hosts that were asked for
// something.
func HostsSince(now, earlier []Host) []Host {
	return slices.DeleteFunc(hostsSince(now, earlier), func(h Host) bool { return h.Requests == 0 })
}

// host returns a line about a host.
func host(h Host) string {
	line := fmt.Sprintf("%s: %s, %s each, %d at once at most; %s read", h.Host, words.Plural(h.Requests, "request"),
		duration(h.each()), h.AtOnce, bytesize.Text(h.Fetched))
	if beyond := h.Fetched - h.Wanted; beyond > h.Wanted/100 {
		line += fmt.Sprintf(" for %s", bytesize.Text(h.Wanted))
	}
	for _, c := range []struct {
		n    int64
		what string
	}{{h.Failed, "failed"}, {h.Throttled, "told to slow down"}, {h.Hedges, "sent twice"}} {
		if c.n > 0 {
			line += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	if h.Silent >= time.Second {
		line += ", silent for " + duration(h.Silent)
	}
	return line
}

func (h Host) each() time.Duration { return h.Took / time.Duration(max(1, h.Requests)) }

// hostVerdict says why a stage is slow that reads from stores; "": it does not.
func hostVerdict(s Snapshot, t pipe.StageStats) string {
	if len(s.Hosts) == 0 || !strings.HasPrefix(t.Name, "read") {
		return ""
	}
	h := slices.MaxFunc(s.Hosts, func(a, b Host) int { return cmp.Compare(a.Took, b.Took) })
	switch {
	case h.Silent >= 5*time.Second:
		return fmt.Sprintf(" The host %s has sent nothing for %s.", h.Host, duration(h.Silent))
	case h.Throttled*100 > h.Requests:
		return fmt.Sprintf(" The host %s is the limit: it asked for fewer requests %d times in %d.", h.Host, h.Throttled, h.Requests)
	case h.AtOnce >= store.MostAtOnce*9/10:
		return fmt.Sprintf(" Latency is the limit: %d requests are sent to %s at once, and each takes %s. "+
			"Larger objects would help, such as shards.", h.AtOnce, h.Host, duration(h.each()))
	case s.Elapsed > 0:
		return fmt.Sprintf(" The link or the host is the limit: %s/s come from %s, however many requests are sent.",
			bytesize.Text(int64(float64(h.Fetched)/s.Elapsed.Seconds())), h.Host)
	}
	return ""
}
