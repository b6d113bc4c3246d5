package serve

// ballast is how much memory is held that nobody writes to, so that it takes none of the
// machine's. The garbage collector counts it as live, and waits until there is as much
// garbage. A pipeline of small samples lives on a few MB: without ballast the collector
// came by every few ms, which took a quarter of the engine's CPU.
const ballast = 32 << 20
