//go:build cgo

package jpeg

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/turbo"
)

// Importing registers, unless the environment asks for libjpeg-turbo.
func TestImportingRegisters(t *testing.T) {
	d, err := media.DecoderFor(media.JPEG)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("HEADRACE_JPEG") == "turbo" {
		if d != media.Decoder(turbo.Decoder{}) {
			t.Errorf("%s is registered", d.Name())
		}
		return
	}
	if d != media.Decoder(Decoder{}) || !media.SamePixels(d.Name(), turbo.Decoder{}.Name()) || d.Name() == (turbo.Decoder{}).Name() {
		t.Errorf("%s is registered", d.Name())
	}

	cmd := exec.Command(os.Args[0], "-test.run=^TestImportingRegisters$", "-test.v")
	cmd.Env = append(os.Environ(), "HEADRACE_JPEG=turbo")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestImportingRegisters") {
		t.Errorf("%v: %s", err, out)
	}
}
