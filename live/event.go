package live

import (
	"encoding/json"
	"slices"
)

// mostEvent bounds an event in bytes.
const mostEvent = 8 << 10

// event is sent to a browser: all loaders in short, and the one that it shows.
type event struct {
	Loaders []line  `json:"loaders"`
	Unshown int     `json:"unshown,omitempty"` // loaders that there was no room for
	Now     *Moment `json:"now"`               // null: there is no such loader
}

// line is a loader in short.
type line struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Program string  `json:"program"`
	PID     int     `json:"pid"`
	Rank    int     `json:"rank"`
	Ranks   int     `json:"ranks"`
	Samples float64 `json:"samples"`
	Share   float64 `json:"share"`
	Main    float64 `json:"main,omitempty"` // the share of steps with where="main"
	Late    bool    `json:"late,omitempty"` // other ranks wait for it
	Limits  string  `json:"limits"`         // the stage that limits; empty: none, or the loop
	Stalled bool    `json:"stalled,omitempty"`
}

// mostLines of loaders fit beside a moment.
const mostLines = 16

// eventOf returns an event about a loader; one without that name: the first.
func eventOf(all []*Moment, id string) []byte {
	e := event{Loaders: []line{}}
	for _, m := range all {
		if m.ID == id || e.Now == nil {
			copied := *m
			e.Now = &copied
		}
	}
	late := Late(all)
	for i, m := range all {
		if len(e.Loaders) == mostLines && m.ID != e.Now.ID {
			e.Unshown++
			continue
		}
		l := line{ID: m.ID, Name: m.Name, Program: cut(m.Program, 40), PID: m.PID, Rank: m.Rank, Ranks: m.Ranks,
			Samples: m.Loop.Samples, Share: m.Loop.Share, Main: m.Loop.MainShare, Late: late[i], Stalled: m.Stalled != ""}
		if m.Limits >= 0 && m.Limits < len(m.Stages) {
			l.Limits = cut(m.Stages[m.Limits].Name, 40)
		}
		e.Loaders = append(e.Loaders, l)
	}
	return e.fitted()
}

// fitted returns the event as JSON, without the least important parts if it is too large.
func (e event) fitted() []byte {
	for {
		text, err := json.Marshal(e)
		if err != nil || len(text) <= mostEvent || !e.shorten() {
			return text
		}
	}
}

// shorten drops the least important part that there is; false: none is left.
func (e *event) shorten() bool {
	m := e.Now
	switch {
	case m == nil:
		return false
	case len(m.Notes) > 2:
		m.Notes = m.Notes[:2]
	case len(m.Failures) > 2:
		m.Failures = m.Failures[:2]
	case slices.ContainsFunc(m.Stages, func(s Stage) bool { return s.Full != "" }):
		m.Stages = slices.Clone(m.Stages)
		for i := range m.Stages {
			m.Stages[i].Full = ""
		}
	case len(m.Stalled) > mostText:
		m.Stalled = cut(m.Stalled, mostText)
	case len(e.Loaders) > 4:
		e.Unshown += len(e.Loaders) - 4
		e.Loaders = e.Loaders[:4]
	case len(m.Stages) > 4:
		m.More += 4
		m.Stages = m.Stages[:len(m.Stages)-4]
	case len(m.Processes) > 2:
		m.Processes = m.Processes[:2]
	case m.Memory.Purposes != nil:
		m.Memory.Purposes = nil
	case len(m.Failures)+len(m.Notes) > 0:
		m.Failures, m.Notes = m.Failures[:0], m.Notes[:0]
	default:
		return false
	}
	return true
}
