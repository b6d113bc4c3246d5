package testjpeg

import (
	"math/bits"
	"math/rand/v2"
)

// Scan is one of a progressive picture, T.81 G.1.1: coefficients From to To, in zigzag
// order, of some components. Low is the lowest bit that it has, and High that of the scan
// before with these coefficients, or 0.
type Scan struct {
	Components          []int
	From, To, High, Low int
}

// Progression makes up the scans of a picture of so many components, all bits of which
// come, in an order that decoders have to take.
func Progression(r *rand.Rand, components int) []Scan {
	var groups [][]int
	if apart := r.IntN(2) == 0; apart {
		for i := range components {
			groups = append(groups, []int{i})
		}
	} else {
		groups = [][]int{upTo(components)}
	}

	// The first scans come first, then one after the other from queues that are chosen at
	// random.
	var out []Scan
	var queues [][]Scan
	for _, group := range groups {
		scans := refined(group, 0, 0, r.IntN(4))
		out, queues = append(out, scans[0]), append(queues, scans[1:])
	}
	for i := range components {
		for from := 1; from <= 63; {
			to := min(63, from+r.IntN(64))
			queues = append(queues, refined([]int{i}, from, to, r.IntN(4)))
			from = to + 1
		}
	}
	for len(queues) > 0 {
		i := r.IntN(len(queues))
		if len(queues[i]) == 0 {
			queues[i] = queues[len(queues)-1]
			queues = queues[:len(queues)-1]
			continue
		}
		out, queues[i] = append(out, queues[i][0]), queues[i][1:]
	}
	return out
}

// refined has a first scan without the lowest bits, and one for each of them.
func refined(components []int, from, to, low int) []Scan {
	all := []Scan{{components, from, to, 0, low}}
	for ; low > 0; low-- {
		all = append(all, Scan{components, from, to, low, low - 1})
	}
	return all
}

// progressive writes the data of a scan, block after block.
type progressive struct {
	*bitWriter
	scan    Scan
	run     int   // blocks before that have nothing more
	pending []int // bits of theirs that correct what is there
}

func (p *progressive) block(c *[64]int, dc *int) {
	switch {
	case p.scan.To == 0 && p.scan.High == 0:
		value := c[0] >> p.scan.Low
		p.coefficient(dcCode, 0, value-*dc)
		*dc = value
	case p.scan.To == 0:
		p.put(uint64(c[0]>>p.scan.Low), 1)
	case p.scan.High == 0:
		p.first(c)
	default:
		p.refine(c)
	}
}

func (p *progressive) first(c *[64]int) {
	zeros := 0
	for k := p.scan.From; k <= p.scan.To; k++ {
		value := shifted(c[k], p.scan.Low)
		if value == 0 {
			zeros++
			continue
		}
		p.end()
		for ; zeros > 15; zeros -= 16 {
			p.symbol(endCode, 0xF0)
		}
		p.coefficient(endCode, zeros, value)
		zeros = 0
	}
	if zeros > 0 {
		p.nothingMore(nil)
	}
}

func (p *progressive) refine(c *[64]int) {
	newest := 0 // the last coefficient of which this is the first bit
	for k := p.scan.From; k <= p.scan.To; k++ {
		if abs(shifted(c[k], p.scan.Low)) == 1 {
			newest = k
		}
	}
	var corrections []int
	zeros := 0
	for k := p.scan.From; k <= p.scan.To; k++ {
		value := shifted(c[k], p.scan.Low)
		if value == 0 {
			zeros++
			continue
		}
		for zeros > 15 && k <= newest {
			p.end()
			p.symbol(endCode, 0xF0)
			p.bits(corrections)
			corrections, zeros = nil, zeros-16
		}
		if abs(value) > 1 {
			corrections = append(corrections, abs(value)&1)
			continue
		}
		p.end()
		p.coefficient(endCode, zeros, value)
		p.bits(corrections)
		corrections, zeros = nil, 0
	}
	if zeros > 0 || len(corrections) > 0 {
		p.nothingMore(corrections)
	}
}

// nothingMore notes that the rest of a block has only corrections.
func (p *progressive) nothingMore(corrections []int) {
	p.run++
	p.pending = append(p.pending, corrections...)
	if p.run == 1<<15-1 {
		p.end()
	}
}

// end writes the run of such blocks.
func (p *progressive) end() {
	if p.run > 0 {
		size := bits.Len(uint(p.run)) - 1
		p.symbol(endCode, byte(size<<4))
		p.put(uint64(p.run-1<<size), size)
	}
	p.bits(p.pending)
	p.run, p.pending = 0, nil
}

func (p *progressive) bits(all []int) {
	for _, bit := range all {
		p.put(uint64(bit), 1)
	}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// shifted leaves the lowest bits of a coefficient's magnitude out.
func shifted(v, low int) int {
	if v < 0 {
		return -(-v >> low)
	}
	return v >> low
}

func abs(v int) int { return max(v, -v) }
