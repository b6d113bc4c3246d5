package stats

import "headrace/pipe"

// Snapshot is all that is counted of a loader: the engine's numbers, and those of the memory around it.
type Snapshot struct {
	pipe.Stats
	Memory  Memory `json:"memory"`
	Decoder string `json:"decoder"` // what decodes images; "": nothing does
}

// Memory is the byte budget and the pool of batches.
type Memory struct {
	Limit    int64     `json:"limit"` // 0: there is no budget
	Used     int64     `json:"used"`
	Peak     int64     `json:"peak"`
	Purposes []Purpose `json:"purposes"`
	Batches  Batches   `json:"batches"`
}

// Purpose is what bytes of the budget are held for.
type Purpose struct {
	Name string `json:"name"`
	Used int64  `json:"used"`
	Peak int64  `json:"peak"`
}

// Batches is where the memory of finished batches is.
type Batches struct {
	Slots    int   `json:"slots"`    // of the pool
	Leased   int   `json:"leased"`   // held by the consumer
	Unpooled int   `json:"unpooled"` // of these, made because the consumer held all of the pool
	Bytes    int64 `json:"bytes"`    // of all
}

// Document is a snapshot with its text, as it is sent to a client.
type Document struct {
	Snapshot
	Text string `json:"text"`
}

// Report returns the numbers with their text. Lists are empty where there is nothing to list, and never null in JSON.
func Report(s Snapshot) Document {
	d := Document{s, Text(s)}
	d.Stages, d.Queues = orEmpty(d.Stages), orEmpty(d.Queues)
	d.Memory.Purposes = orEmpty(d.Memory.Purposes)
	return d
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
