package heads

import (
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/media/internal/avtest"
)

// Sums are those of pages that are summed bit by bit.
func TestSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		page := avtest.Page(byte(n&7), random.Uint32(), byte(n%256), byte(n/2%255))
		for i := 29; i < len(page); i++ {
			page[i] = byte(random.Uint32())
		}
		avtest.SumPage(page)
		if !Summed(page) {
			t.Fatalf("a page of %d bytes", len(page))
		}
		page[random.IntN(len(page))] ^= 1 << random.IntN(8)
		if Summed(page) {
			t.Fatalf("a page of %d bytes with a wrong bit", len(page))
		}
	}
}

func BenchmarkSum(b *testing.B) {
	page := avtest.Page(0, 1, make([]byte, 17)...)
	page = append(page, make([]byte, 8000)...)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		Sum(page)
	}
}
