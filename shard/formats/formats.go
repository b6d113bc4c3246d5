// Package formats registers all formats of shards, so that shard.Open knows them.
package formats

import (
	"headrace/shard"
	"headrace/shard/tarfile"
)

func init() {
	shard.Register(tarfile.Format)
}
