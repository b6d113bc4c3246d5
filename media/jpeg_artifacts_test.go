package media_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
)

// Coding without loss is left out, and nothing else: the bytes are those of
// libjpeg-turbo, through torchvision.
func TestArtifactsAreThoseOfLibjpeg(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 1))
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for i := range rounds {
		p := confetti(r, []media.Color{media.RGB, media.Gray}[i%2], 1+r.IntN(70), 1+r.IntN(40))
		if i%3 == 0 {
			p = few(r, p.Color, p.Width, p.Height)
		}
		if i%5 == 0 {
			for k := range p.Data { // a gradient
				p.Data[k] = byte(k % p.Stride * 3)
			}
		}
		quality := 1 + r.IntN(100)
		want := oracle.Functional(t, pictured(p), "jpeg", quality)
		if got := drew(t, p, 0, media.JPEGArtifacts{Quality: [2]int{quality, quality}}); !bytes.Equal(got, want.Pix) {
			most := 0
			for k := range got {
				most = max(most, max(int(got[k]), int(want.Pix[k]))-min(int(got[k]), int(want.Pix[k])))
			}
			t.Errorf("quality %d of %v: %d levels from libjpeg's", quality, p.Form(), most)
		}
	}
}
