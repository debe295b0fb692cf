/** The door of the scripted model. */
export { scriptedFile } from './file.ts'
export { type Scripted, type ScriptedAnswer, scriptedModel } from './scripted.ts'
export { ScriptedTurn } from './turn.ts'
