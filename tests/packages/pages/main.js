import { answers } from "./answers.js";

document.title = JSON.stringify(await answers().catch((error) => String(error)));
