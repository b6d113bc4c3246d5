package serve

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/sample"
)

// The crash page's layout; docs/protocol.md.
const (
	pageSize   = 69632
	cellsStart = 4096
	cellSize   = 256
	cells      = 256
	cellKey    = 40
	pageMagic  = "HRPAGE01"
)

// page is the memory in which the engine notes which samples are in the hands of C
// code, for the client to read should C kill the engine.
type page struct {
	memory []byte
}

// mapPage maps the client's memfd. The descriptor stays open, because it names the memory
// in /proc.
func mapPage(fd int) (*page, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("serve: crash page: %w", err)
	}
	if stat.Size < pageSize {
		return nil, fmt.Errorf("serve: crash page of %d bytes: %d are needed", stat.Size, pageSize)
	}
	memory, err := unix.Mmap(fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("serve: crash page: %w", err)
	}
	copy(memory, pageMagic)
	return &page{memory: memory}, nil
}

// cellWriter notes the samples of one stream of one session.
type cellWriter struct {
	page            *page
	session, stream uint32
}

// Begin notes that operation number cell hands the sample to C.
func (w cellWriter) Begin(cell int, id sample.ID, key string) {
	if cell < 0 || cell >= cells {
		return // headrace.Config allows no more workers than cells; a gate shared by more is not worth a crash here
	}
	c := w.page.memory[cellsStart+cell*cellSize:][:cellSize]
	if room := cellSize - cellKey; len(key) > room {
		key = key[len(key)-room:]
	}
	le := binary.LittleEndian
	le.PutUint32(c[4:], w.session)
	le.PutUint32(c[8:], w.stream)
	le.PutUint32(c[12:], uint32(len(key)))
	le.PutUint64(c[16:], uint64(id.Epoch))
	le.PutUint64(c[24:], uint64(id.Pos))
	le.PutUint64(c[32:], uint64(id.Index))
	copy(c[cellKey:], key)
	atomic.StoreUint32(word(c), 1) // last: a reader that sees it sees the rest
}

// End notes that C has returned.
func (w cellWriter) End(cell int) {
	if cell >= 0 && cell < cells {
		atomic.StoreUint32(word(w.page.memory[cellsStart+cell*cellSize:]), 0)
	}
}

// word is the first word of a cell; cells are at multiples of 256, so it is aligned.
func word(cell []byte) *uint32 { return (*uint32)(unsafe.Pointer(&cell[0])) }
