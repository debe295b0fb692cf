/** `npm run build`: installs and builds what is missing. */
import { setUp } from './setup.mjs'

setUp()
