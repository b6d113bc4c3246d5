//go:build cgo

package webp

import (
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/hostile"
)

func TestHostile(t *testing.T) { hostile.Run(t, media.Whole(Decoder{}), media.WebP) }

func FuzzDecode(f *testing.F) { hostile.Fuzz(f, media.Whole(Decoder{}), media.WebP) }
