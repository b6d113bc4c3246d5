package live

import "time"

// history has a point for each second of the last hour.
type history struct {
	points  [3600]point
	n       int
	stages  []string // that limited; points have their numbers
	samples int64    // at the last point
	loop    loopTimes
	at      time.Time
}

type point struct {
	rate   float32 // samples that the loop got in a second
	wait   float32 // the share of the loop's time in which it waited
	limits int16   // a stage by its number, or one of the numbers below
}

const (
	loopLimits = -1
	unclear    = -2
)

// loopTimes are the clocks of the loop.
type loopTimes struct{ ran, waited time.Duration }

// add adds the second that has ended.
func (h *history) add(now time.Time, samples int64, loop loopTimes, limits int16) {
	seconds := now.Sub(h.at).Seconds()
	p := point{limits: limits}
	if ran := loop.ran - h.loop.ran; !h.at.IsZero() && seconds > 0 {
		p.rate = float32(float64(max(0, samples-h.samples)) / seconds)
		if ran > 0 {
			p.wait = float32(min(1, max(0, float64(loop.waited-h.loop.waited)/float64(ran))))
		}
		h.points[h.n%len(h.points)] = p
		h.n++
	}
	h.at, h.samples, h.loop = now, samples, loop
}

// number returns the number of a stage in points.
func (h *history) number(stage string) int16 {
	for i, known := range h.stages {
		if known == stage {
			return int16(i)
		}
	}
	h.stages = append(h.stages, stage)
	return int16(len(h.stages) - 1)
}

// History has the rates and waits of the loop over the last hour. Lists are of the same
// length, and end now.
type History struct {
	Step   int       `json:"step"`   // seconds between points
	Rate   []float64 `json:"rate"`   // samples a second
	Wait   []float64 `json:"wait"`   // the share of the loop's time in which it waited
	Limits []int     `json:"limits"` // a number of Stages; -1: the loop; -2: none clearly
	Stages []string  `json:"stages"`
}

// mostPoints bounds what a page is sent, and draws.
const mostPoints = 720

// of returns the history, in points of as many seconds as keep it small.
func (h *history) of() History {
	n := min(h.n, len(h.points))
	step := (n + mostPoints - 1) / mostPoints
	out := History{Step: max(1, step), Rate: []float64{}, Wait: []float64{}, Limits: []int{}, Stages: append([]string{}, h.stages...)}
	for at := n % out.Step; at < n; at += out.Step {
		var rate, wait float64
		count := map[int16]int{}
		most := int16(unclear)
		for i := range out.Step {
			p := h.points[(h.n-n+at+i)%len(h.points)]
			rate, wait = rate+float64(p.rate), wait+float64(p.wait)
			if count[p.limits]++; count[p.limits] > count[most] {
				most = p.limits
			}
		}
		out.Rate = append(out.Rate, brief(rate/float64(out.Step)))
		out.Wait = append(out.Wait, brief(wait/float64(out.Step)))
		out.Limits = append(out.Limits, int(most))
	}
	return out
}
