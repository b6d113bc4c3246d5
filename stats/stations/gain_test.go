package stations_test

import (
	"testing"

	"github.com/headrace/headrace/stats/stations"
)

// Of two stations in a row the slower one limits, until it is no longer the slower one.
func TestGains(t *testing.T) {
	n := stations.Network{
		Rate: 100, InHand: 1000, Cores: 4,
		Stages: []stations.Station{
			{Name: "fast", Short: "fast", Workers: 1, Share: 0.8, Alone: 0.8},
			{Name: "slow", Short: "slow", Workers: 2, Share: 1, Alone: 1, Function: 1, Python: true},
		},
		CPU: stations.Station{Share: 0.1, Alone: 0.1}, Loop: stations.Station{Share: 0.1, Alone: 0.1},
	}
	for _, g := range n.Gains() {
		if g.Rate < 115 || g.Rate > 130 || g.Least >= g.Rate || g.Most <= g.Rate {
			t.Errorf("%+v", g)
		}
		if g.Change == stations.MoreWorkers && (g.Stage != "slow" || g.From != 2 || g.To != 3) {
			t.Errorf("%+v", g)
		}
	}
	if len(n.Gains()) != 3 {
		t.Errorf("%+v", n.Gains())
	}

	n.Stages[1].Share, n.Stages[1].Alone = 0.8, 0.8
	n.Loop.Share, n.Loop.Alone = 1, 1
	if all := n.Gains(); len(all) != 1 || all[0].Change != stations.FasterLoop {
		t.Errorf("%+v", all)
	}
}
