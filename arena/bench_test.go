package arena

import "testing"

// The sizes are those of 32 images of 224 × 224 pixels.
const benchmarkBytes = 32*224*224*3 + 512

// BenchmarkCycle is a slot's whole life, its bytes untouched: what the arena itself
// costs a batch.
func BenchmarkCycle(b *testing.B) {
	a := open(b, Options{Slots: 5, SlotBytes: benchmarkBytes})
	b.ReportAllocs()
	for b.Loop() {
		s := reserve(b, a)
		do(b, s.Seal, s.Send, func() error { return a.Release(s.Segment(), s.Index()) })
	}
}

// BenchmarkWarm writes a slot whose pages are there.
func BenchmarkWarm(b *testing.B) {
	a := open(b, Options{Slots: 5, SlotBytes: benchmarkBytes})
	b.SetBytes(benchmarkBytes)
	for b.Loop() {
		s := reserve(b, a)
		clear(s.Bytes())
		do(b, s.Drop)
	}
}

// BenchmarkFirstTouch writes an unpooled slot: the segment is made, its pages are
// zeroed and mapped one by one, and given back.
func BenchmarkFirstTouch(b *testing.B) {
	a := open(b, Options{Slots: 1, SlotBytes: benchmarkBytes})
	s := reserve(b, a)
	do(b, s.Seal, s.Send)
	b.SetBytes(benchmarkBytes)
	for b.Loop() {
		a.SetWaiting(true)
		s := reserve(b, a)
		clear(s.Bytes())
		do(b, s.Drop)
	}
}
