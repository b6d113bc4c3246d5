//go:build cgo

package avif

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "decode.h"
import "C"

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/media"
)

// names are tried in this order.
var names = []string{"libavif.so.16", "libavif.so.15"}

// pathVariable names the file of a library that is taken in place of these.
const pathVariable = "HEADRACE_AVIF"

// library is opened once. An error stays, too: whoever installs a library starts the
// program again.
var library = sync.OnceValues(func() (*C.hr_avif, error) {
	if path := os.Getenv(pathVariable); path != "" {
		return open(path)
	}
	return open(names...)
})

func open(names ...string) (*C.hr_avif, error) {
	var reasons []string
	for _, name := range names {
		c := C.CString(name)
		var why *C.char
		lib := C.hr_avif_open(c, &why)
		C.free(unsafe.Pointer(c))
		if lib != nil {
			return lib, nil
		}
		reasons = append(reasons, C.GoString(why))
		C.free(unsafe.Pointer(why))
	}
	return nil, fmt.Errorf("%w: decoding AVIF needs libavif, and none could be opened (%s); "+
		"run: apt-get install -y libavif16 (libavif15 on Debian 12),"+
		" or set %s to its path", media.ErrUnsupported, strings.Join(reasons, "; "), pathVariable)
}

// Version is that of the library which decodes, once it can be opened.
func Version() (string, error) {
	lib, err := library()
	if err != nil {
		return "", err
	}
	return C.GoString(C.hr_avif_version(lib)), nil
}

// Codecs says what the library decodes and encodes AV1 with, as in "dav1d [dec]:1.0.0,
// aom [enc/dec]:3.6.0", once it can be opened.
func Codecs() (string, error) {
	lib, err := library()
	if err != nil {
		return "", err
	}
	text := make([]byte, 256)
	C.hr_avif_codecs(lib, (*C.char)(unsafe.Pointer(&text[0])))
	text, _, _ = bytes.Cut(text, []byte{0})
	return string(text), nil
}
