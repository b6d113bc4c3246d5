// Package shardtest is the suite that every format of package shard has to pass.
//
// A [Case] is a shard in memory, the files beside it, and the samples that an independent
// reader finds in it. [Case.Run] reads them in sequence and at random, cuts every file
// off at every byte, spoils bytes, writes lengths that lie, and watches the memory that
// each attempt takes. [Case.Fuzz] does it with what a fuzzer makes of the files.
package shardtest
