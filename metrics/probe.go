package metrics

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// probe answers Kubernetes and its like, which only ask whether all is well: 200, or 503
// with a line for each loader that is not.
type probe struct {
	from  prometheus.Gatherer
	wrong func(series string, value float64) (text string) // "": nothing
}

// isStalled finds a loader in which nothing moves. It does not recover by itself as a
// rule, so that a program that is restarted for it loses little.
func isStalled(series string, value float64) string {
	if series == stalled.Name && value > 0 {
		return fmt.Sprintf("nothing has moved for %.0f s", value)
	}
	return ""
}

// isNotReady finds a loader that has made no batch yet, or is stalled.
func isNotReady(series string, value float64) string {
	if series == ready.Name && value == 0 {
		return "no batch is made yet"
	}
	return isStalled(series, value)
}

func (p probe) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	families, err := p.from.Gather()
	var lines []string
	if err != nil {
		lines = append(lines, err.Error())
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if text := p.wrong(f.GetName(), m.GetGauge().GetValue()); text != "" {
				lines = append(lines, named(m)+": "+text)
			}
		}
	}
	if lines == nil {
		fmt.Fprintln(w, "ok")
		return
	}
	slices.Sort(lines)
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}

// named is a loader in a sentence.
func named(m *dto.Metric) string {
	is := loaderOf(m)
	text := "loader " + is.name
	if is.rank != "" {
		text += ", rank " + is.rank
	}
	if is.job != "" {
		text += ", job " + is.job
	}
	return text
}
