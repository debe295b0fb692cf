/** The issue format of beads. */
export { BeadsIssue } from './issue.ts'
export { type ReadBead, type ReadBeads, readBeads } from './read.ts'
