package scratch_test

import (
	"testing"

	"headrace/internal/scratch"
)

func TestPool(t *testing.T) {
	var p scratch.Pool
	for _, n := range []int{0, 10, 1000, 5} {
		b := p.Take(n)
		if len(*b) != n {
			t.Errorf("%d bytes instead of %d", len(*b), n)
		}
		p.Give(b)
	}
}

func TestPoolKeepsNoGiants(t *testing.T) {
	var p scratch.Pool
	p.Give(p.Take(scratch.Keep + 1))
	for range 100 { // a pool may keep things in several places
		if b := p.Take(0); cap(*b) > scratch.Keep {
			t.Fatalf("%d bytes were kept", cap(*b))
		}
	}
}
