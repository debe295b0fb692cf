/** Heads as they stood every so many versions, so that a past state is not folded from the beginning. */
import { isolate } from './003-isolation.ts'

export const landmarks: readonly string[] = [
  `create table landmarks (
    project bigint not null,
    conversation bigint not null,
    version integer not null,
    heads text not null,
    primary key (project, conversation, version),
    foreign key (project, conversation) references conversations
  )`,
  ...isolate('landmarks'),
]
