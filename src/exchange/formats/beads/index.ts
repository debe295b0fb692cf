/** Beads' issues, read. */
export { BeadsIssue } from './issue.ts'
export { type ReadBead, type ReadBeads, readBeads } from './read.ts'
