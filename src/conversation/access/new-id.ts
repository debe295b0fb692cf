/** Makes ids that sort by time, so that indexes over them grow at their end. */
export { uuidv7 as newId } from 'uuidv7'
