package testvideo

import "testing"

func TestFilesAreMade(t *testing.T) {
	for _, name := range Names("") {
		File(t, name)
	}
}
