/** The door of models that are commands. */
export { type CommandOptions, commandModel } from './command.ts'
