import { DESCRIPTION } from "../about.mjs";
import { short } from "../llms.mjs";

export const GET = ({ site }) => new Response(short(site, DESCRIPTION));
