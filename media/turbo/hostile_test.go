//go:build cgo

package turbo

import (
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/hostile"
)

func TestHostile(t *testing.T) { hostile.Run(t, Decoder{}, media.JPEG) }

func FuzzDecode(f *testing.F) { hostile.Fuzz(f, Decoder{}, media.JPEG) }
