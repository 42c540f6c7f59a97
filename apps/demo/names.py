"""Given and family names of demo people, as mixed as the city's population."""

from typing import Final

FEMALE: Final = (
    "Adaeze", "Agnieszka", "Alma", "Beatriz", "Bernice", "Blanca", "Carmen", "Cecilia", "Delores", "Dorota", "Edna",
    "Esperanza", "Ewa", "Fatima", "Geneva", "Gloria", "Halina", "Hyun", "Ida", "Imani", "Irena", "Josefina", "Kavita",
    "Krystyna", "Latoya", "Leticia", "Lorraine", "Lucille", "Mabel", "Magdalena", "Mei", "Nadia", "Nirmala", "Odessa",
    "Pearl", "Rosario", "Ruth", "Shanice", "Teresa", "Thelma", "Vivian", "Wanda", "Ximena", "Yolanda", "Zofia",
)  # fmt: skip
MALE: Final = (
    "Abel", "Alfonso", "Amos", "Andrzej", "Bogdan", "Calvin", "Cesar", "Chen", "Clarence", "Darnell", "Desmond",
    "Eduardo", "Elijah", "Emeka", "Ernest", "Farid", "Floyd", "Gregorio", "Harold", "Hector", "Ignacio", "Isaiah",
    "Jacek", "Jerome", "Kazimierz", "Kwame", "Leon", "Lucjan", "Luis", "Marcus", "Marek", "Minh", "Norbert", "Otis",
    "Pablo", "Rafael", "Raj", "Reginald", "Roscoe", "Salvador", "Stanislaw", "Terrence", "Tomasz", "Vernon", "Willie",
)  # fmt: skip
FAMILY: Final = (
    "Abernethy", "Adeyemi", "Alvarado", "Banaszak", "Barrera", "Bellweather", "Blackwood", "Brzozowski", "Camacho",
    "Cardenas", "Castellano", "Chaudhary", "Cobbins", "Dabrowski", "Delacroix", "Dominguez", "Eastwick", "Espinoza",
    "Fairweather", "Figueroa", "Gadomski", "Galarza", "Goldwater", "Grabowski", "Greenfield", "Hairston", "Hargrove",
    "Holloway", "Ibarra", "Jankowski", "Jaramillo", "Kaminski", "Kettleworth", "Kowalczyk", "Lavender", "Ledbetter",
    "Lockridge", "Malinowski", "Marchbanks", "Mendoza", "Montoya", "Moorehead", "Nakagawa", "Nowicki", "Obafemi",
    "Olszewski", "Orozco", "Pendleton", "Pietrowski", "Quintana", "Rainwater", "Redfern", "Rosado", "Rutkowski",
    "Sandoval", "Silverstone", "Sobieraj", "Stallworth", "Szymanski", "Tillman", "Trujillo", "Underhill", "Valdivia",
    "Venkataraman", "Wadsworth", "Weatherspoon", "Whitlock", "Wojcik", "Xiong", "Yarbrough", "Zamora", "Zielinski",
)  # fmt: skip
