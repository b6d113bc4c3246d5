package recipe

// Catalogue are the operations that have no room yet.
var Catalogue = Room{
	filesOp, readOp, sourceOp, mergeOp, shuffleOp, samplerOp, weightedOp, routeOp, decodeNPYOp, decodeAudioOp, logMelOp, decodeVideoOp, videoClipsOp, mapOp, filterOp, flatMapOp, aggregateOp,
	selectOp, dropOp, renameOp, copyOp,
	batchOp, bucketBatchOp, packOp, unbatchOp,
}
