/** Where archive files are kept: a folder, or a bucket. Files are written whole or not at all. */
export interface ArchivePlace {
  /** Writes `lines` to a new file called `name` and returns its address, for people and for `read`. */
  write(name: string, lines: AsyncIterable<string>): Promise<string>
  /** The lines of the file at `address`. */
  read(address: string): AsyncIterable<string>
}
