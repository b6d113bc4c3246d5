package metrics

import (
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// gathered are the families of several processes.
type gathered struct {
	families map[string]*dto.MetricFamily
	loaders  map[loader]bool // whose series they are
}

func newGathered() gathered {
	return gathered{map[string]*dto.MetricFamily{}, map[loader]bool{}}
}

// loader identifies the owner of a series.
type loader struct{ name, rank, job string }

func loaderOf(m *dto.Metric) (is loader) {
	for _, l := range m.Label {
		switch l.GetName() {
		case "loader":
			is.name = l.GetValue()
		case "rank":
			is.rank = l.GetValue()
		case "job":
			is.job = l.GetValue()
		}
	}
	return is
}

// add takes in the families of another process. Series that are there already would make
// all of an answer wrong: of two processes that call a loader the same, the later one's
// gets a number.
func (g gathered) add(more []*dto.MetricFamily) {
	known := map[loader]string{} // of this process, by what they are called now
	for _, f := range more {
		into := g.families[f.GetName()]
		if into != nil && into.GetType() != f.GetType() { // of another version of Headrace
			continue
		}
		for _, m := range f.Metric {
			is := loaderOf(m)
			name, met := known[is]
			if !met {
				name = g.newName(is)
				known[is] = name
			}
			if name != is.name {
				rename(m, name)
			}
		}
		if into == nil {
			g.families[f.GetName()] = f
		} else {
			into.Metric = append(into.Metric, f.Metric...)
		}
	}
}

// newName is a name that no other process has.
func (g gathered) newName(is loader) string {
	name := is.name
	for n := 2; g.loaders[is]; n++ {
		is.name = fmt.Sprintf("%s-%d", name, n)
	}
	g.loaders[is] = true
	return is.name
}

func rename(m *dto.Metric, name string) {
	for _, l := range m.Label {
		if l.GetName() == "loader" {
			l.Value = &name
		}
	}
}

func (g gathered) list() (sorted []*dto.MetricFamily) {
	for _, f := range g.families {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return sorted
}
