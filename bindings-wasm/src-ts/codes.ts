/** The core's numbers of the failure kinds that hosts tell apart. */
export const TRANSIENT = 1;
export const TIMEOUT = 3;
export const PERMANENT = 4;
